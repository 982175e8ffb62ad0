import { Module } from '@nestjs/common';
import { EventsModule } from '../../audit/events.module';
import { SigningKeyRotation } from './signing-key-rotation.service';
import { SigningKeysRepository } from './signing-keys.repository';
import { SigningKeysService } from './signing-keys.service';

/** Provides the ES256 keys that sign access tokens. */
@Module({
  imports: [EventsModule],
  providers: [SigningKeysService, SigningKeyRotation, SigningKeysRepository],
  exports: [SigningKeysService, SigningKeyRotation],
})
export class SigningKeysModule {}
