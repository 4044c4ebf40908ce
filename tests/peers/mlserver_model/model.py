from mlserver import MLModel
from mlserver.types import InferenceRequest, InferenceResponse, MetadataModelResponse, MetadataTensor
from mlserver.codecs import NumpyCodec


class Double(MLModel):
    async def load(self):
        self.inputs = [MetadataTensor(name="x", datatype="FP32", shape=[-1, 4])]
        self.outputs = [MetadataTensor(name="y", datatype="FP32", shape=[-1, 4])]
        return True

    async def predict(self, payload):
        x = NumpyCodec.decode_input(payload.inputs[0])
        return InferenceResponse(model_name=self.name, outputs=[NumpyCodec.encode_output("y", x * 2)])
