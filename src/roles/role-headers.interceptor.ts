import { type CallHandler, type ExecutionContext, Inject, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { map, type Observable } from 'rxjs';
import { CONFIG, type Config } from '../config/config';
import type { RoleResponse } from './roles.dto';

/** Adds the `Location` header to the response with a new role. */
@Injectable()
export class RoleHeadersInterceptor implements NestInterceptor {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  intercept(context: ExecutionContext, next: CallHandler<RoleResponse>): Observable<RoleResponse> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(
      map((role) => {
        reply.header('location', `${this.config.BASE_PATH}/role/${role.name}`);
        return role;
      }),
    );
  }
}
