import type { ServerResponse } from 'node:http';
/** The messages of one stream, kept so that it can be resumed, and its current response. */
export declare class EventStream {
    #private;
    readonly id: string;
    constructor(id: string);
    /** Returns whether a response is attached. */
    get attached(): boolean;
    /** Counts the events sent so far, over any connection. */
    get delivered(): number;
    /** Writes the head of `response` and sends events from number `from`. Calls `onGone` when the response ends. */
    attach(response: ServerResponse, from: number, onGone: () => void): void;
    send(message: unknown): void;
    /** Marks the stream as complete. */
    end(): void;
    /** Resets the connection. */
    cut(): void;
}
/** Parses the event id of an {@link EventStream}; `next` is the first missing event. */
export declare function parseEventId(text: string): {
    stream: string;
    next: number;
} | undefined;
