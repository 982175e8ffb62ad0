import { existsSync, readFileSync, realpathSync } from 'node:fs';
import Ajv from 'ajv';
import { drainMs } from '../../src/http/drain';
import { secretSettings, settings } from '../../src/platform/config/settings';
import { image, type Labels, rendered, yaml } from '../support/process/chart';

const chart = 'deploy/helm/carrier-identity';
const schema = JSON.parse(readFileSync(`${chart}/values.schema.json`, 'utf8')) as {
  properties: Record<'config' | 'secrets', { propertyNames: { enum: string[] } }>;
};
const isValid = new Ajv({ strict: false }).compile(schema);
const valuesOf = (example: string) => ({
  ...yaml<object>(`${chart}/values.yaml`),
  ...yaml<object>(`deploy/helm/examples/${example}/values.yaml`),
});
const minimal = rendered('minimal');
const production = rendered('production');
const { spec: pod } = minimal['Deployment']!.spec.template;
const [container] = pod.containers;

describe('the values of the chart', () => {
  it('accept all settings except those that the chart sets, and secrets by reference only', () => {
    const { config, secrets } = schema.properties;
    const own = ['PORT', 'HOST', 'DATA_DIR', 'METRICS_PORT'];
    // A secret that the packages of OpenTelemetry do not read from a file.
    const other = ['OTEL_EXPORTER_OTLP_HEADERS'];
    expect(secrets.propertyNames.enum).toEqual(secretSettings);
    expect([...config.propertyNames.enum, ...secrets.propertyNames.enum, ...own, ...other].sort()).toEqual(
      Object.keys(settings.shape).sort(),
    );
  });

  it.each(['minimal', 'production', 'cloudnative-pg'])('accept the example %s', (example) => {
    isValid(valuesOf(example));
    expect(isValid.errors).toBeNull();
  });

  const config = { PUBLIC_URL: 'https://identity.example.net' };
  const key = { name: 'carrier-identity', key: 'APP_SECRET' };
  it.each([
    ['an unknown value', { replica: 3 }, ''],
    ['an unknown setting', { config: { ...config, LOCKOUT_TRESHOLD: 3 } }, '/config'],
    ['a setting that the chart sets', { config: { ...config, PORT: 80 } }, '/config'],
    ['a secret as text', { config: { ...config, APP_SECRET: 'x'.repeat(32) } }, '/config'],
    ['a token as text', { config: { ...config, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=x' } }, '/config'],
    ['a missing PUBLIC_URL', { config: {} }, '/config'],
    ['a missing DATABASE_URL', { secrets: { APP_SECRET: key } }, '/secrets'],
    ['a secret without its key', { secrets: { DATABASE_URL: key, APP_SECRET: { name: 'x' } } }, '/secrets/APP_SECRET'],
    [
      'an ingress without TRUST_PROXY, which would count all users as one address',
      { ingress: { enabled: true } },
      '/config',
    ],
    [
      'a monitor without metrics',
      { metrics: { enabled: false, serviceMonitor: { enabled: true } } },
      '/metrics/enabled',
    ],
  ])('reject %s', (_, values, path) => {
    expect(isValid({ ...valuesOf('minimal'), ...values })).toBe(false);
    expect(isValid.errors?.map(({ instancePath }) => instancePath)).toContain(path);
  });
});

describe('the chart', () => {
  it('runs the version, user, ports and folders of the image', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const { user, port, env } = image();
    const { runAsUser, runAsGroup, fsGroup } = pod.securityContext;
    expect(container.image).toBe(`carrier-identity:${version}`);
    expect([`${runAsUser}:${runAsGroup}`, `${fsGroup}`]).toEqual([user, user.split(':')[1]]);
    expect(container.ports).toEqual([{ name: 'http', containerPort: port }]);
    expect([String(port), '0.0.0.0']).toEqual([env['PORT'], env['HOST']]);
    expect(container.volumeMounts.filter(({ readOnly }) => readOnly !== true)).toEqual([
      { name: 'data', mountPath: env['DATA_DIR'] },
    ]);
    const [, migrate] = production['Job']!.spec.template.spec.containers[0].command!;
    expect(existsSync(migrate!.replace('dist/', '').replace('.js', '.ts'))).toBe(true);
  });

  it('probes paths of the API document, below BASE_PATH', () => {
    const { paths } = JSON.parse(readFileSync('openapi.json', 'utf8')) as { paths: object };
    const [below] = production['Deployment']!.spec.template.spec.containers;
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) {
      expect(Object.keys(paths)).toContain(container[probe].httpGet.path);
      expect(below[probe].httpGet.path).toBe(`/identity${container[probe].httpGet.path}`);
    }
  });

  it('waits longer for the end of a pod than the service takes to stop', () => {
    const [, spare] = /stopWithinMs = drainMs \+ ([\d_]+);/.exec(readFileSync('src/main.ts', 'utf8'))!;
    const stopSeconds = (drainMs + Number(spare!.replace('_', ''))) / 1_000;
    const delay = Number(image().env['SHUTDOWN_DELAY_SECONDS']);
    expect(pod.terminationGracePeriodSeconds).toBe(delay + stopSeconds + 5);
    expect(production['Deployment']!.spec.template.spec.terminationGracePeriodSeconds).toBe(15 + stopSeconds + 5);
  });

  it('selects the pods of the service only, except for the network policy, which includes the migration', () => {
    const labels = (kind: string) => production[kind]!.spec.template.metadata.labels;
    const selected = (selector: Labels) =>
      ['Deployment', 'Job'].filter((kind) =>
        Object.entries(selector).every(([name, value]) => labels(kind)[name] === value),
      );
    const { topologySpreadConstraints: spread } = production['Deployment']!.spec.template.spec;
    const own = [
      production['Service']!.spec.selector,
      production['Deployment']!.spec.selector.matchLabels,
      production['PodDisruptionBudget']!.spec.selector.matchLabels,
      ...spread.map(({ labelSelector }) => labelSelector.matchLabels),
    ];
    expect(own.map(selected)).toEqual(own.map(() => ['Deployment']));
    expect(selected(production['NetworkPolicy']!.spec.podSelector.matchLabels)).toEqual(['Deployment', 'Job']);
  });

  it('has the alerts of deploy/prometheus, and their job', () => {
    const alerts = 'deploy/prometheus/alerts.yml';
    expect(realpathSync(`${chart}/files/alerts.yml`)).toBe(realpathSync(alerts));
    expect(production['PrometheusRule']!.spec).toEqual(yaml(alerts));
    const [, job] = /\{job="([^"]+)"\}/.exec(readFileSync(alerts, 'utf8'))!;
    expect(production['ServiceMonitor']!.spec).toHaveProperty('jobLabel', 'app.kubernetes.io/name');
    expect(production['Service']!.spec.selector['app.kubernetes.io/name']).toBe(job);
  });
});
