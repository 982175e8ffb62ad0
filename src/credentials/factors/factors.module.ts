import { Module } from '@nestjs/common';
import { FactorsRepository } from './factors.repository';
import { FactorsService } from './factors.service';

/** Second factors and recovery codes. */
@Module({
  providers: [FactorsService, FactorsRepository],
  exports: [FactorsService],
})
export class FactorsModule {}
