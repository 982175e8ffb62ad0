import { Cluster } from '../support/cluster';
import { shutDownUnderLoad } from '../support/shutdown';

describe('20 shutdowns', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.create();
  });
  afterAll(() => cluster.close());

  it.each([
    ['SIGINT', 1],
    ['SIGTERM', 2],
  ] as const)('drop no request: %s, %i workers (F17)', async (signal, workers) => {
    for (let round = 0; round < 10; round++) await shutDownUnderLoad(cluster, signal, workers);
  });
});
