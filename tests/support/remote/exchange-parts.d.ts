import type { IncomingMessage, ServerResponse } from 'node:http';
/**
 * Reads the whole body as text, once for all who ask. Uses events, as iterating over the request would take as long as
 * everything else.
 */
export declare function readText(request: IncomingMessage): Promise<string>;
/** Answers with JSON. */
export declare function sendJson(response: ServerResponse, status: number, value: unknown, headers?: Record<string, string | string[]>): void;
/** The head of a stream of events. */
export declare const eventStreamHead: Readonly<Record<string, string>>;
/** Answers with plain text. */
export declare function sendText(response: ServerResponse, status: number, text: string): void;
/** Resolves after `ms` milliseconds; synchronously for 0. */
export declare function pause(ms: number): Promise<void> | undefined;
