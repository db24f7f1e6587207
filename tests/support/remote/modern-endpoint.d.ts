import { type JsonObject } from '@drawbridge/shared/json-object.ts';
import { type EndpointWorld, type McpExchange } from './endpoint-world.ts';
/** 2026-07-28: every request is independent. */
export interface ModernEndpoint {
    handle(exchange: McpExchange): void;
    /** Sends a notification on the listen streams that asked for its kind. */
    tell(method: string, params: JsonObject): void;
    dropStreams(): void;
}
/** Creates the endpoint, without authorization. */
export declare function createModernEndpoint(world: EndpointWorld): ModernEndpoint;
