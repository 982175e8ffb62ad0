import type { AccessTokenClaims } from '../../src/auth/access-tokens';
import { SigningKeyRotation } from '../../src/signing-keys/signing-key-rotation.service';
import { SigningKeysService } from '../../src/signing-keys/signing-keys.service';
import { VerifiedTokens } from '../../src/auth/verified-tokens';
import { TestService } from '../support/service';
import { decode } from '../support/tokens';

describe('the cache of verified tokens', () => {
  let service: TestService;
  let verified: VerifiedTokens;
  let claims: AccessTokenClaims;
  beforeAll(async () => {
    service = await TestService.start();
    verified = service.app.get(VerifiedTokens, { strict: false });
    claims = decode(service.admin.token) as unknown as AccessTokenClaims;
  });
  afterAll(() => service.close());

  it('drops a token in the second in which it expires', () => {
    const now = Math.floor(Date.now() / 1_000);
    verified.remember('good', { ...claims, exp: now + 60 });
    verified.remember('expired', { ...claims, exp: now });
    expect([verified.find('good')?.exp, verified.find('expired')]).toEqual([now + 60, null]);
  });

  it('drops all tokens when a key is added or removed (J20)', async () => {
    const { token } = service.admin;
    await verified.verify(token);
    expect(verified.find(token)).toEqual(claims);
    await service.app.get(SigningKeyRotation, { strict: false }).rotate({ revoke: true });
    await service.app.get(SigningKeysService, { strict: false }).reload();
    expect(verified.find(token)).toBeNull();
    await expect(verified.verify(token)).rejects.toMatchObject({ code: 'auth.token_invalid' });
    // The same change must not remove later tokens again.
    verified.remember('next', claims);
    expect(verified.find('next')).toEqual(claims);
  });

  it('keeps the 20,000 most recent tokens', () => {
    const exp = Math.floor(Date.now() / 1_000) + 3_600;
    for (let index = 0; index <= 20_000; index++) verified.remember(`token-${index}`, { ...claims, exp });
    expect([0, 1, 20_000].map((index) => verified.find(`token-${index}`) !== null)).toEqual([false, true, true]);
  });
});
