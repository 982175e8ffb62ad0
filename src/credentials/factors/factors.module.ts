import { Module } from '@nestjs/common';
import { JobsModule } from '../../jobs/jobs.module';
import { EnrollmentCodesRepository } from './enrollment-codes.repository';
import { EnrollmentCodesService } from './enrollment-codes.service';
import { FactorUpkeepRepository } from './factor-upkeep.repository';
import { FactorUpkeepService } from './factor-upkeep.service';
import { FactorsRepository } from './factors.repository';
import { FactorsService } from './factors.service';
import { PasskeysRepository } from './passkeys.repository';
import { PasskeysService } from './passkeys.service';

/** Second factors and recovery codes. */
@Module({
  imports: [JobsModule],
  providers: [
    EnrollmentCodesService,
    EnrollmentCodesRepository,
    FactorsService,
    FactorsRepository,
    FactorUpkeepService,
    FactorUpkeepRepository,
    PasskeysService,
    PasskeysRepository,
  ],
  exports: [EnrollmentCodesService, FactorsService, PasskeysService],
})
export class FactorsModule {}
