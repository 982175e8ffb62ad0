import { type Config, loadConfig, withDatabase } from '../platform/config/config';
import { withStoredAddress } from '../platform/config/running-address';
import { findEmbeddedPostgres, startEmbeddedPostgres } from '../platform/embedded-postgres/embedded-postgres';

/**
 * Returns the configuration with a reachable database for a command.
 * Uses the running embedded server and the address of its service, or starts a server that `stop`
 * ends.
 */
export async function configWithDatabase(): Promise<{ config: Config; stop: () => Promise<void> }> {
  const config = loadConfig();
  if (!config.embedded) return { config, stop: () => Promise.resolve() };
  const running = await findEmbeddedPostgres(config.DATA_DIR);
  if (running !== null)
    return { config: withDatabase(withStoredAddress(config), running), stop: () => Promise.resolve() };
  const started = await startEmbeddedPostgres(config.DATA_DIR);
  return { config: withDatabase(config, started.url), stop: () => started.stop() };
}
