"""An ONNX model with an open dimension and an integer input, in the file that is named."""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

weights = numpy_helper.from_array(numpy.random.default_rng(1).standard_normal((256, 256)).astype(numpy.float32), "W")
nodes = [helper.make_node("MatMul", ["X", "W"], ["Y"]), helper.make_node("Gather", ["Y", "I"], ["Z"], axis=1)]
inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["batch", 256]), helper.make_tensor_value_info("I", TensorProto.INT64, [4])]
graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("Z", TensorProto.FLOAT, ["batch", 4])], [weights])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 8
onnx.save(model, sys.argv[1])
