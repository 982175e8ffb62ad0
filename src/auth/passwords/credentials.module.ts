import { Module } from '@nestjs/common';
import { JobsModule } from '../../platform/jobs/jobs.module';
import { CredentialsRepository } from './credentials.repository';
import { CredentialsService } from './credentials.service';
import { LoginAttemptsRepository } from './login-attempts.repository';
import { LoginAttemptsService } from './login-attempts.service';
import { BreachedPasswords } from './policy/breached-passwords';
import { PasswordPolicy } from './policy/password-policy';
import { PasswordStrength, strengthLimits } from './policy/password-strength';

/** Passwords, account lockout and mailed links. */
@Module({
  imports: [JobsModule],
  providers: [
    CredentialsService,
    CredentialsRepository,
    LoginAttemptsService,
    LoginAttemptsRepository,
    PasswordPolicy,
    BreachedPasswords,
    { provide: PasswordStrength, useFactory: () => new PasswordStrength(strengthLimits) },
  ],
  exports: [CredentialsService, LoginAttemptsService],
})
export class CredentialsModule {}
