import { Module } from '@nestjs/common';
import { EnrollmentCodesRepository } from './enrollment-codes.repository';
import { EnrollmentCodesService } from './enrollment-codes.service';
import { FactorsRepository } from './factors.repository';
import { FactorsService } from './factors.service';

/** Second factors and recovery codes. */
@Module({
  providers: [EnrollmentCodesRepository, EnrollmentCodesService, FactorsService, FactorsRepository],
  exports: [EnrollmentCodesService, FactorsService],
})
export class FactorsModule {}
