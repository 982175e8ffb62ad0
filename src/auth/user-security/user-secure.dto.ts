import { ApiProperty } from '@nestjs/swagger';
import { ValidateRules } from '../../http/fields/field-rules';
import { TextField } from '../../http/fields/fields';
import { namedEnum } from '../../platform/named-enum';
import { uuidForm } from '../../platform/text-forms';
import type { FactorChoice } from '../second-factors/factor-changes.service';

/** Whether factors are kept. */
const factorsDecisions = namedEnum('FactorsDecision', ['keep', 'remove_all']);
/** Whether API keys are kept. */
const keysDecisions = namedEnum('KeysDecision', ['keep', 'suspend']);
const factorsMax = 20;
const ids = { type: 'array', maxItems: factorsMax, items: { type: 'string', format: 'uuid', maxLength: 36 } };
const isText = (value: unknown) => typeof value === 'string';
const isId = (value: unknown) => uuidForm.test(String(value));
const isChoice = (value: unknown) =>
  Array.isArray(value) ? value.length <= factorsMax && value.every(isId) : value === 'keep' || value === 'remove_all';
const detail = 'must be keep, remove_all or a list of ids';
const rules = [
  { code: 'field.wrong_type', detail, passes: (value: unknown) => [value].flat().every(isText) },
  { code: 'field.not_allowed', detail, passes: isChoice },
];

/** What happens to the second factors and API keys of a user whose account is secured. */
export class SecureUserRequest {
  /**
   * `keep`, `remove_all`, or the ids of the factors to remove, such as factors that an attacker
   * added. Required if the user has factors. Removing needs `user:reset_factors` and no API key,
   * and voids the recovery codes
   */
  @ApiProperty({ required: false, oneOf: [{ type: 'string', enum: [...factorsDecisions] }, ids], example: 'keep' })
  @ValidateRules({ optional: true, nullable: false, rules })
  factors?: FactorChoice;
  /**
   * `suspend` suspends the API keys that the user created until each is resumed; `keep` keeps them.
   * Required if the user created API keys that still work
   */
  @TextField({ optional: true, max: 7, values: keysDecisions }) keys?: 'keep' | 'suspend';
}
