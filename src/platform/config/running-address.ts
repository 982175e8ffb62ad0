import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config';

type Address = Pick<Config, 'PUBLIC_URL' | 'BASE_PATH'>;

const fileOf = ({ DATA_DIR }: Config) => join(DATA_DIR, 'service-address.json');

/**
 * Stores the address of a service with an embedded database in `DATA_DIR`. A command finds the
 * running database there, but usually runs without the PORT of the service.
 */
export function storeAddress(config: Config): void {
  const { PUBLIC_URL, BASE_PATH } = config;
  writeFileSync(fileOf(config), JSON.stringify({ PUBLIC_URL, BASE_PATH }));
}

/** Returns the configuration with the address that the running service stored, if any. */
export function withStoredAddress(config: Config): Config {
  try {
    const { PUBLIC_URL, BASE_PATH } = JSON.parse(readFileSync(fileOf(config), 'utf8')) as Address;
    return { ...config, PUBLIC_URL, BASE_PATH };
  } catch {
    // The service stores its address once it listens.
    return config;
  }
}
