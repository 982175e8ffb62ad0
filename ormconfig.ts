import { DataSource } from 'typeorm';
import { loadConfig } from './src/config/config';
import { dataSourceOptions } from './src/database/data-source';

/** The data source for TypeORM's command line: `npm run typeorm -- migration:show`. */
export default new DataSource(
  dataSourceOptions({ url: loadConfig().DATABASE_DIRECT_URL, poolMax: 2, purpose: 'migrations' }),
);
