import type { EndpointWorld, McpExchange } from './endpoint-world.ts';
import { LegacySession } from './legacy-session.ts';
/** The transport of 2024-11-05: a stream at `/sse` that names the address for POSTs, `/messages`. */
export interface SseEndpoint {
    handle(exchange: McpExchange, url: URL): void;
    sessions(): LegacySession[];
    /** Resets all streams, which ends their sessions. */
    dropStreams(): void;
}
/** Creates the endpoint, without authorization. */
export declare function createSseEndpoint(world: EndpointWorld): SseEndpoint;
