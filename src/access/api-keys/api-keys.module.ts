import { Module } from '@nestjs/common';
import { EventsModule } from '../../audit/events.module';
import { ActiveApiKeys } from './active-api-keys';
import { KeysController } from './api-keys.controller';
import { ApiKeysRepository } from './api-keys.repository';
import { ApiKeysService } from './api-keys.service';

/** API keys. */
@Module({
  imports: [EventsModule],
  controllers: [KeysController],
  providers: [ApiKeysService, ActiveApiKeys, ApiKeysRepository],
  exports: [ApiKeysService],
})
export class ApiKeysModule {}
