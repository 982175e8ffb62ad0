import { type DynamicModule, Global, Module } from '@nestjs/common';
import { CursorCodec } from '../common/query/cursor';
import { deriveKey } from '../common/random';
import { CONFIG, type Config } from './config';

/** Gives every module the configuration, and what is made from it alone. */
@Global()
@Module({})
export class ConfigModule {
  static forRoot(config: Config): DynamicModule {
    return {
      module: ConfigModule,
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: CursorCodec, useValue: new CursorCodec(deriveKey(config.APP_SECRET, 'cursor')) },
      ],
      exports: [CONFIG, CursorCodec],
    };
  }
}
