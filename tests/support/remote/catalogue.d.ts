import { type JsonObject } from '@drawbridge/shared/json-object.ts';
import { type JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts';
import { type RemoteCounters } from './remote-counters.ts';
/** Actions available to a method. */
export interface CallContext {
    counters: RemoteCounters;
    params: JsonObject;
    signal: AbortSignal;
    /** Sends a notification that belongs to this request. */
    notify(method: string, params: JsonObject): void;
    /** Asks the client, in the legacy era. Rejects with {@link RpcFailure} where that is impossible. */
    ask(method: string, params: JsonObject): Promise<unknown>;
    /** The caller, from the token; empty without authorization. */
    caller: {
        clientId: string;
        scope: string;
    };
    /** Tools added by `changeTools`. */
    extraTools: string[];
    /** Those of `RemoteSettings`. */
    replacedTools: JsonObject[] | undefined;
}
/** An error response. */
export declare class RpcFailure extends Error {
    readonly code: number;
    readonly data: unknown;
    constructor(code: number, message: string, data?: unknown);
}
/** Returns the error response for what {@link answerMethod} threw. */
export declare function errorOf(id: JsonRpcId, error: unknown): JsonObject;
/** Capabilities of both eras. */
export declare const capabilities: {
    tools: {
        listChanged: boolean;
    };
    resources: {
        listChanged: boolean;
        subscribe: boolean;
    };
    prompts: {
        listChanged: boolean;
    };
    logging: {};
    completions: {};
};
/** Name and version of the remote. */
export declare const serverInfo: {
    name: string;
    version: string;
};
/** Instructions for the model. */
export declare const instructions = "Call echo.";
/** Returns the result of a method that is the same in both eras. Throws {@link RpcFailure}. */
export declare function answerMethod(method: string, context: CallContext): Promise<JsonObject>;
