import { type ArgumentMetadata, ValidationPipe } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { readFields, type RequestClass } from './field-rules';

/**
 * Validates bodies, and converts them to instances of their class.
 * Rejects fields that no DTO declares, and names each wrong field (OWASP ASVS 15.3.3). Checks the
 * fields before `class-transformer` copies the body: a copy of 64 KiB of nested lists takes 45 ms,
 * the check 5 ms (H30).
 */
export class BodyPipe extends ValidationPipe {
  // eslint-disable-next-line @typescript-eslint/require-await -- rejects, as its base does
  override async transform(body: unknown, metadata: ArgumentMetadata): Promise<object> {
    if (!this.toValidate(metadata)) return body as object;
    const type = metadata.metatype as new () => object;
    const fields = readFields(type as RequestClass, body);
    return plainToInstance(type, fields, { exposeUnsetFields: false });
  }
}
