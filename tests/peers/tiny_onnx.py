"""An ONNX model with an open dimension and an integer input, in the file that is named; and one that runs for years, in the second."""

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

weights = numpy_helper.from_array(numpy.random.default_rng(1).standard_normal((256, 256)).astype(numpy.float32), "W")
nodes = [helper.make_node("MatMul", ["X", "W"], ["Y"]), helper.make_node("Gather", ["Y", "I"], ["Z"], axis=1)]
inputs = [
    helper.make_tensor_value_info("X", TensorProto.FLOAT, ["batch", 256]),
    helper.make_tensor_value_info("I", TensorProto.INT64, [4]),
]
graph = helper.make_graph(
    nodes, "g", inputs, [helper.make_tensor_value_info("Z", TensorProto.FLOAT, ["batch", 4])], [weights]
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 8
onnx.save(model, sys.argv[1])

body = helper.make_graph(
    [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["sum", "x"], ["more"])],
    "body",
    [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("go", TensorProto.BOOL, []),
        helper.make_tensor_value_info("sum", TensorProto.FLOAT, [4]),
    ],
    [
        helper.make_tensor_value_info("on", TensorProto.BOOL, []),
        helper.make_tensor_value_info("more", TensorProto.FLOAT, [4]),
    ],
)
often = numpy_helper.from_array(numpy.array(2**50, dtype=numpy.int64), "often")
true = numpy_helper.from_array(numpy.array(True), "true")
graph = helper.make_graph(
    [helper.make_node("Loop", ["often", "true", "x"], ["y"], body=body)],
    "endless",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
    [often, true],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 8
onnx.save(model, sys.argv[2])
