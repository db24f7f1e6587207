import type { JsonObject } from '@drawbridge/shared/json-object.ts';
import type { Received } from './received.ts';
/** Behaviour of the remote. Every member may be changed while it runs. */
export interface RemoteSettings {
    /** Eras served by `/mcp`. */
    era: 'legacy' | 'modern' | 'both';
    /**
     * A server of `era: 'legacy'` answers `server/discover` with `revisions`, and every other request of 2026-07-28
     * with -32022 and `revisions`, as servers of the Go SDK with sessions do.
     */
    discoverable: boolean;
    /** `sse`: only the transport of 2024-11-05 at `/sse`; `/mcp` answers 404. `both` has the two side by side. */
    transport: 'http' | 'sse' | 'both';
    /** Legacy revisions that `initialize` may negotiate, newest first. */
    revisions: string[];
    /**
     * Sees every request first, on any path. Answers it itself, byte by byte if need be, where it returns true; throwing
     * makes a 500.
     */
    handle: ((request: Received) => unknown) | undefined;
    /** Replaces the tools; each result is the arguments as JSON. */
    tools: JsonObject[] | undefined;
    /** Replaces members of the result of `initialize`. */
    opening: JsonObject;
    /** Headers of every answer of the MCP endpoint. */
    headers: Record<string, string | string[]>;
    /** Issues session ids, and wants them back; every request is served without. */
    sessions: boolean;
    /** Status of a request in a session that is not known. */
    lostSessionStatus: 400 | 404;
    /** Status of the answer to GET; 200 is a stream. */
    streamStatus: number;
    /** Delay of every response, on every path but `/control`. */
    delayMs: number;
    /** Sets cookies that must come back, like a load balancer with sticky sessions. */
    cookies: boolean;
    /** Requires a bearer token at `/mcp`. */
    auth: boolean;
    /** The only accepted token, in place of those that are issued. */
    token: string | undefined;
    /** The scope required by `/mcp`, also named in challenges; the tool `admin` requires `mcp:admin` as well. */
    scope: string;
    /** `bare`: no parameters. */
    challenge: 'full' | 'bare';
    /** Replaces the `resource` of the protected resource metadata. */
    resource: string | undefined;
    /** Offers the device grant. */
    deviceGrant: boolean;
    /** Decision of `/authorize` and device codes: approve at once, wait for `approve()` or `deny()`, or deny at once. */
    approval: 'auto' | 'wait' | 'deny';
    tokenTtlSeconds: number;
    /** Period in which a used refresh token is answered with the same successor. Later use ends the grant. */
    graceSeconds: number;
    /** Delay of the response of `/token`; rotation happens before it. */
    tokenDelayMs: number;
}
/** Settings of an ordinary server. */
export declare const usualSettings: RemoteSettings;
