/** ONNX Runtime for WebAssembly; the build of the page puts its own copy here. */
import * as runtime from 'onnxruntime-web/wasm';

// more threads need a page that its server has isolated from others
runtime.env.wasm.numThreads = 1;

export const { InferenceSession, Tensor } = runtime;
