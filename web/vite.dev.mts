import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type Plugin } from 'vite';

// `npm run dev:console`: the console from its sources, in front of a running service. An edit
// appears without a reload of the page. SERVICE is the URL of the service with its BASE_PATH.
const service = new URL(process.env['SERVICE'] ?? 'http://localhost:3000');
const basePath = service.pathname.replace(/\/$/, '');

/** Serves the page of the sources with the head, nonce and security policy of the service. */
const pages: Plugin = {
  name: 'pages-of-the-service',
  configureServer(server) {
    server.middlewares.use((request, response, next) => {
      if (request.headers.accept?.includes('text/html') !== true) return next();
      const serve = async () => {
        const url = request.originalUrl ?? '/';
        const answer = await fetch(new URL(url, service), { redirect: 'manual' });
        const page = await answer.text();
        const [, head = ''] = /<meta charset="utf-8" \/>(.*?)<meta property="csp-nonce"/s.exec(page) ?? [];
        const [, nonce = ''] = / nonce="([^"]+)"/.exec(page) ?? [];
        const source = readFileSync(join(import.meta.dirname, 'index.html'), 'utf8')
          .replace(/<!--\w+-->/, () => head)
          .replace('{{nonce}}', nonce);
        for (const name of ['content-type', 'content-security-policy', 'cross-origin-opener-policy'])
          response.setHeader(name, answer.headers.get(name) ?? '');
        response.end(await server.transformIndexHtml(url, source));
      };
      serve().catch(next);
    });
  },
};

export default defineConfig({
  base: `${basePath}/console/`,
  server: {
    host: 'localhost',
    port: 5173,
    // The overlay is HTML, which the default policy of Trusted Types rejects.
    hmr: { overlay: false },
    proxy: { [`^(?!${basePath}/console(/|$))`]: service.origin },
  },
  plugins: [pages],
});
