import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
/** A message of any shape in a test. */
export type Json = Record<string, any>;
/** One HTTP request received by a remote, to be looked at or answered by a test. */
export interface Received {
    method: string;
    path: string;
    /** Origin of the remote. */
    origin: string;
    headers: IncomingHttpHeaders;
    /** The body as it came. */
    text: string;
    /** The body parsed as JSON; empty if it is none. */
    body: Json;
    /** Time of arrival, by `performance.now()`. */
    at: number;
    incoming: IncomingMessage;
    response: ServerResponse;
    /** Answers with JSON; text and bytes are sent unchanged. */
    json(status: number, value: unknown, headers?: Record<string, string>): void;
    /** Answers with a JSON-RPC response to this request; `said` has its result or error, or another id. */
    answer(said: Json, status?: number): void;
    /** Starts a stream of events with `text` written unchanged. */
    events(text?: string): ServerResponse;
}
/** Reads a request to the end. */
export declare function receive(incoming: IncomingMessage, response: ServerResponse): Promise<Received>;
/** Names a request for a log: a POST by its JSON-RPC method, others by that of HTTP. */
export declare function nameOf({ method, body }: Received): string;
