import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../process/built-program';
import { until } from '../until';

/** A proxy that `docs/proxies.md` configures, and how to run it. */
interface ProxyKind {
  /** language of its configuration in the document */
  language: string;
  /** Returns a configuration that runs without privileges and writes only to the directory. */
  complete: (config: string, directory: string) => string;
  arguments: (file: string, directory: string) => string[];
}

const kinds: Record<string, ProxyKind> = {
  nginx: {
    language: 'nginx',
    complete: (config, directory) => {
      const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const temporary = folders.map((name) => `${name}_temp_path ${directory}/${name};`).join(' ');
      return `daemon off; master_process off; pid ${directory}/pid; error_log stderr; events {}
        http { access_log off; ${temporary} ${config} }`;
    },
    arguments: (file, directory) => ['-p', directory, '-e', 'stderr', '-c', file],
  },
  caddy: {
    language: 'caddyfile',
    complete: (config) => `{\n\tadmin off\n}\n${config}`,
    arguments: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
};
const environment = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin` };

/** The proxies that are installed on this machine. */
export const installedProxies = Object.keys(kinds).filter(
  (name) => spawnSync(name, [name === 'nginx' ? '-v' : 'version'], { env: environment }).status === 0,
);

/** Returns the configuration of a proxy in `docs/proxies.md`. */
export function documentedProxy(language: string): string {
  const text = readFileSync('docs/proxies.md', 'utf8');
  const [, config] = new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'm').exec(text) ?? [];
  if (config === undefined) throw new Error(`docs/proxies.md has no configuration in ${language}`);
  return config;
}

/** A running proxy. */
export class Proxy {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {}

  /**
   * Starts a proxy with its configuration in `docs/proxies.md`.
   * @param identity port of the service
   * @param module port of the module
   */
  static async start(name: string, ports: { identity: number; module: number }): Promise<Proxy> {
    const { language, complete, arguments: toArguments } = kinds[name] as ProxyKind;
    const port = await freePort();
    const config = documentedProxy(language)
      .replaceAll('identity.internal:3000', `127.0.0.1:${ports.identity}`)
      .replaceAll('billing.internal:8080', `127.0.0.1:${ports.module}`)
      .replace(/^:80 /m, `:${port} `)
      .replace('listen 80;', `listen 127.0.0.1:${port};`);
    const directory = mkdtempSync(join(tmpdir(), 'carrier-identity-proxy-'));
    const file = join(directory, 'config');
    writeFileSync(file, complete(config, directory));
    const child = spawn(name, toArguments(file, directory), { env: { ...environment, HOME: directory } });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += String(chunk)));
    const proxy = new Proxy(port, child, directory);
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`${name} ended: ${output}`);
      return fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      );
    });
    return proxy;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'close');
    this.child.kill();
    await ended;
    rmSync(this.directory, { recursive: true, force: true });
  }
}
