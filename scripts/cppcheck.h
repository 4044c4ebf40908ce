/* jansson's loops, as cppcheck can read them. */
#define json_array_foreach(array, index, value) for (index = 0; (value = json_array_get(array, index)) != 0; index++)
#define json_object_foreach(object, key, value) for (key = json_key(object); (value = json_value(object)) != 0; key = json_key(object))
