import { type ArgumentMetadata, ValidationPipe } from '@nestjs/common';
import { readFields, type RequestClass } from './field-rules';

/**
 * Validates bodies, and converts them to instances of their class.
 * Rejects fields that no DTO declares, and names each wrong field (OWASP ASVS 15.3.3). Checks the
 * fields before `class-transformer` copies the body: a copy of 64 KiB of nested lists takes 45 ms,
 * the check 5 ms (H30).
 */
export class BodyPipe extends ValidationPipe {
  constructor() {
    super({ transform: true, transformOptions: { exposeUnsetFields: false } });
  }

  override async transform(body: unknown, metadata: ArgumentMetadata): Promise<object> {
    if (this.toValidate(metadata)) readFields(metadata.metatype as RequestClass, body);
    return super.transform(body, metadata) as Promise<object>;
  }
}
