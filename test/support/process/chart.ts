import { readFileSync } from 'node:fs';
import { load, loadAll } from 'js-yaml';

/** Fields of Kubernetes objects that the tests of the chart read. */
export interface Manifest {
  kind: string;
  spec: {
    selector: Labels & { matchLabels: Labels };
    podSelector: { matchLabels: Labels };
    template: { metadata: { labels: Labels }; spec: Pod };
  };
}

/** Labels of an object, by name. */
export type Labels = Record<string, string>;

interface Pod {
  terminationGracePeriodSeconds: number;
  topologySpreadConstraints: { labelSelector: { matchLabels: Labels } }[];
  securityContext: { runAsUser: number; runAsGroup: number; fsGroup: number };
  containers: [Container];
}

interface Container {
  image: string;
  command?: string[];
  env: { name: string; value: string }[];
  ports: { name: string; containerPort: number }[];
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
}

interface Probe {
  httpGet: { path: string };
}

/** Returns what the chart renders with a set of example values, by kind. */
export function rendered(example: string): Record<string, Manifest> {
  const manifests = loadAll(readFileSync(`test/deploy/golden/${example}.yaml`, 'utf8')) as Manifest[];
  return Object.fromEntries(manifests.map((manifest) => [manifest.kind, manifest]));
}

/** Returns the content of a YAML file. */
export function yaml<T>(path: string): T {
  return load(readFileSync(path, 'utf8')) as T;
}

/** The lines of the last stage of the Dockerfile that the chart must agree with. */
export function image(): { user: string; port: number; command: string[]; env: Record<string, string> } {
  const text = readFileSync('Dockerfile', 'utf8').split('\nFROM base\n')[1] ?? '';
  const found = (pattern: RegExp) => pattern.exec(text)?.[1] ?? '';
  const env = found(/^ENV ((?:.*\\\n)*.*)$/m).matchAll(/(\w+)=(\S+)/g);
  return {
    user: found(/^USER (.*)$/m),
    port: Number(found(/^EXPOSE (.*)$/m)),
    command: JSON.parse(found(/^CMD (.*)$/m)) as string[],
    env: Object.fromEntries([...env].map(([, name = '', value = '']) => [name, value])),
  };
}
