import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const outDir = '../dist/console';

/** Writes a Brotli and a gzip form beside each text asset, so that the service compresses nothing. */
const precompress: Plugin = {
  name: 'precompress',
  apply: 'build',
  closeBundle() {
    const assets = join(import.meta.dirname, outDir, 'assets');
    for (const name of readdirSync(assets).filter((asset) => !asset.endsWith('.woff2'))) {
      const file = join(assets, name);
      const content = readFileSync(file);
      writeFileSync(`${file}.br`, brotliCompressSync(content));
      writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
    }
  },
};

/**
 * Adds the script with the first requests to the page. Vite would otherwise make one script of all
 * scripts of a page. It stands behind the links to the console, and runs before the console.
 */
const firstRequests: Plugin = {
  name: 'first-requests',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler(_html, { bundle = {} }) {
      const chunk = Object.values(bundle).find(({ name, type }) => type === 'chunk' && name === 'first-requests');
      const attrs = { type: 'module', async: true, crossorigin: true, src: `./${chunk?.fileName}` };
      return [{ tag: 'script', attrs, injectTo: 'body' }];
    },
  },
};

/**
 * Loads the styles of a component of Mantine with its code, instead of the styles of all components
 * with the first page. Each `….module.mjs` of Mantine has a file of styles with the same name.
 */
const mantineStyles: Plugin = {
  name: 'mantine-styles',
  apply: 'build',
  load: {
    filter: { id: /@mantine\/core\/styles\.layer\.css$/ },
    handler: () =>
      ['default-css-variables', 'baseline', 'global']
        .map((name) => `@import '@mantine/core/styles/${name}.layer.css';`)
        .join('\n'),
  },
  transform: {
    filter: { id: /@mantine\/core\/esm\/.*\.module\.mjs$/ },
    handler: (code, id) => `import '@mantine/core/styles/${basename(id, '.module.mjs')}.layer.css';\n${code}`,
  },
};

/** Modules of the script with the first requests, which must not wait for those of the console. */
const first =
  /src\/(session\/(first-(requests|answers)|exclusively|session-requests)|api\/(base|problems)|operations\/permissions|pages)\.ts$|preload-helper|rolldown\/runtime/;

export default defineConfig({
  // The service writes `<base>` into the page, so one build works below any BASE_PATH.
  base: './',
  build: {
    outDir,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    rolldownOptions: {
      input: {
        index: `${import.meta.dirname}/index.html`,
        'first-requests': `${import.meta.dirname}/src/session/first-requests.ts`,
      },
      output: {
        codeSplitting: {
          groups: [
            { name: 'first-requests', test: first, priority: 1 },
            { name: 'console', tags: ['$initial'] },
            // On a slow network, one file arrives sooner than thirty small ones.
            { name: 'shared', minShareCount: 6 },
          ],
        },
      },
    },
    // Browsers that know `light-dark()`: its replacement for older ones loses the colors.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
  },
  plugins: [mantineStyles, firstRequests, precompress],
});
