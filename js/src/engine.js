/** ONNX Runtime for WebAssembly. `build.js` replaces the import by the page's own copy. */
import * as runtime from 'onnxruntime-web/wasm';

// several threads need a page that is cross-origin isolated
runtime.env.wasm.numThreads = 1;

export const { InferenceSession, Tensor } = runtime;
