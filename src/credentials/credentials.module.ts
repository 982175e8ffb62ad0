import { Module } from '@nestjs/common';
import { CredentialsRepository } from './credentials.repository';
import { CredentialsService } from './credentials.service';

/** Passwords and mailed links. */
@Module({ providers: [CredentialsService, CredentialsRepository], exports: [CredentialsService] })
export class CredentialsModule {}
