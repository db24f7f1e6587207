import type { ServerResponse } from 'node:http';
import { type JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts';
import { type EndpointWorld, type McpExchange } from './endpoint-world.ts';
import { LegacySession } from './legacy-session.ts';
/** Streamable HTTP of the revisions 2025-03-26 to 2025-11-25. */
export interface LegacyEndpoint {
    handle(exchange: McpExchange): void;
    sessions(): LegacySession[];
    /** The open GET streams. */
    readonly streams: ReadonlySet<ServerResponse>;
    /** Forgets all sessions; their streams stay open, as if another replica answered from now on. */
    dropSessions(): void;
    /** Resets the connections of all open streams. */
    dropStreams(): void;
}
/** Creates the endpoint, without authorization. */
export declare function createLegacyEndpoint(world: EndpointWorld): LegacyEndpoint;
/** Answers a request of 2026-07-28 with the supported revisions, for `discoverable`. */
export declare function answerWithRevisions({ id, method, params }: JsonRpcRequest, { response }: McpExchange, { settings, counters }: EndpointWorld): void;
