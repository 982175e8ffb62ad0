import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module';
import { ActingKeys } from './acting-keys';
import { KeysController } from './keys.controller';
import { KeysRepository } from './keys.repository';
import { KeysService } from './keys.service';

/** Keys for machines. */
@Module({
  imports: [EventsModule],
  controllers: [KeysController],
  providers: [KeysService, ActingKeys, KeysRepository],
  exports: [KeysService],
})
export class KeysModule {}
