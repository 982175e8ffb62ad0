import { Module } from '@nestjs/common';
import { EventsModule } from '../../audit/events.module';
import { JobsModule } from '../../platform/jobs/jobs.module';
import { ApiKeysModule } from '../api-keys/api-keys.module';
import { AddressBlocksController } from './address-blocks.controller';
import { AddressBlocksRepository } from './address-blocks.repository';
import { AddressBlocksService } from './address-blocks.service';
import { BlockedAddresses } from './blocked-addresses';

/** Address blocks, and their enforcement. */
@Module({
  imports: [ApiKeysModule, EventsModule, JobsModule],
  controllers: [AddressBlocksController],
  providers: [AddressBlocksService, AddressBlocksRepository, BlockedAddresses],
  exports: [AddressBlocksService, BlockedAddresses],
})
export class AddressBlocksModule {}
