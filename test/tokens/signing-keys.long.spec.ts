import type { SigningKeyRotation } from '../../src/auth/signing-keys/signing-key-rotation.service';
import { TestService } from '../support/service';
import { until } from '../support/until';

describe('the scheduled load of signing keys', () => {
  it('publishes a new key although its notification was lost (J20)', async () => {
    const service = await TestService.start();
    await service.rows('alter table signing_keys disable trigger signing_keys_changed');
    const { kid } = await service.inside<SigningKeyRotation>('SigningKeyRotation').rotate({});
    // The service loads the keys every 30 s.
    await until(async () => (await service.get('/.well-known/jwks.json')).text.includes(kid), 120_000);
    await service.close();
  });
});
