import type { ServerResponse } from 'node:http';
/** Events seen by the remote since it started, or since `resetCounters`. */
export interface RemoteCounters {
    /** By `METHOD /path`. */
    requests: Record<string, number>;
    /** TCP connections to the MCP server. */
    connections: number;
    /** JSON-RPC requests and notifications by method that passed authorization. */
    methods: Record<string, number>;
    /** Tool calls by their argument `key`, or by the tool's name without one. */
    calls: Record<string, number>;
    /** Ids of requests that were cancelled, by notification or by disconnecting, in order. */
    cancelled: (string | number)[];
    sessionsOpened: number;
    /** Gauge: currently open; not reset. */
    sessionsOpen: number;
    /** Long-lived streams: GET, `/sse`, and `subscriptions/listen`. */
    streamsOpened: number;
    /** Gauge. */
    streamsOpen: number;
    deletes: number;
    lastEventIds: string[];
    /** Responses of `/mcp` with 401. */
    unauthorized: number;
    /** Requests of `/authorize` and of the device page: one browser tab each. */
    tabs: number;
    registrations: number;
    codeGrants: number;
    deviceGrants: number;
    refreshesOk: number;
    /** Answered with the same successor, within the grace period. */
    refreshesReplayed: number;
    /** Reused later, which ended the grant. */
    refreshesReused: number;
    /** Tokens of an ended or unknown grant. */
    refreshesRefused: number;
    revocations: number;
}
export declare function createCounters(): RemoteCounters;
export declare function count(table: Record<string, number>, name: string): void;
/** Counts a stream, which is open until its response closes. */
export declare function countStream(counters: RemoteCounters, response: ServerResponse): void;
