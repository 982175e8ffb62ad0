import { type DynamicModule, Global, Module } from '@nestjs/common';
import { CursorCodec } from '../../http/lists/cursor';
import { deriveKey } from '../random';
import { CONFIG, type Config } from './config';

/** Provides the configuration, and objects built from the configuration alone, to all modules. */
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
