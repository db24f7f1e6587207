import type { JsonObject } from '@drawbridge/shared/json-object.ts';
import type { JsonRpcMessage, JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts';
import type { Caller, EndpointWorld } from './endpoint-world.ts';
/** Receives the answer to one message. */
export interface Reply {
    /** Sends a message before the response. */
    interim(message: JsonObject): void;
    /** Sends the response; `undefined` when the request was cancelled. */
    finish(message: JsonObject | undefined): void;
}
/** One client of a revision with `initialize`, over any transport. */
export declare class LegacySession {
    #private;
    readonly id: string;
    revision: string;
    /** `unsolicited` receives messages that belong to no request. */
    constructor(world: EndpointWorld, unsolicited: (message: JsonObject) => void);
    /** Handles a notification or response from the client. */
    accept(message: JsonRpcMessage): void;
    /** Answers a request. Never rejects. */
    answer(request: JsonRpcRequest, caller: Caller, reply: Reply): Promise<void>;
    /** Sends a notification outside any request. */
    tell(method: string, params: JsonObject): void;
}
/** Counts a message by its method. */
export declare function countMessage(world: EndpointWorld, message: JsonRpcMessage): void;
