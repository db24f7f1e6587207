import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts';
import type { RemoteCounters } from './remote-counters.ts';
import type { RemoteSettings } from './remote-settings.ts';
/** The sender of a request. */
export interface Caller {
    clientId: string;
    scope: string;
}
/** State shared by the endpoints of both eras. */
export interface EndpointWorld {
    settings: RemoteSettings;
    counters: RemoteCounters;
    extraTools: string[];
    /** Answers 403 and returns false if the message needs a scope that the caller lacks. */
    allows(caller: Caller, message: JsonRpcMessage, response: ServerResponse): boolean;
}
/** One request that has passed authorization, with its body. */
export interface McpExchange {
    request: IncomingMessage;
    response: ServerResponse;
    caller: Caller;
    /** Parsed body of a POST. */
    body: unknown;
}
/** Returns a header as one text. */
export declare function header(request: IncomingMessage, name: string): string | undefined;
