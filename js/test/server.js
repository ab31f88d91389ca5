/** A local server of static files. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const KINDS = {
  '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css',
  '.wasm': 'application/wasm', '.json': 'application/json',
};

/**
 * Serve static files. The first name of a path selects the folder; '' serves all other paths.
 * @param {Record<string, string>} folders
 */
export async function serve(folders) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    const [first, ...rest] = path.slice(1).split('/');
    const file = first && Object.hasOwn(folders, first) ? join(folders[first], ...rest) : join(folders[''], path === '/' ? 'index.html' : path);
    try {
      const content = await readFile(file);
      response.writeHead(200, { 'content-type': KINDS[extname(file)] ?? 'application/octet-stream' }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((started) => server.listen(0, '127.0.0.1', started));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}
