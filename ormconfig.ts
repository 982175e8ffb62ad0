import { DataSource } from 'typeorm';
import { loadConfig } from './src/platform/config/config';
import { dataSourceOptions } from './src/platform/database/data-source';

/**
 * Data source for the command line of TypeORM: `npx typeorm -d dist/ormconfig.js migration:show`.
 */
export default new DataSource(
  dataSourceOptions({ url: loadConfig().DATABASE_DIRECT_URL, poolMax: 2, purpose: 'migrations' }),
);
