import { type ServerResponse } from 'node:http';
import type { JsonObject } from '@drawbridge/shared/json-object.ts';
import { type AuthorizationScript, type RemoteClient } from './authorization-server.ts';
import type { TokenAnswer } from './grants.ts';
import { type RemoteCounters } from './remote-counters.ts';
import { type Received } from './received.ts';
import { type RemoteSettings } from './remote-settings.ts';
/** Initial {@link RemoteSettings}, and what a test makes of the authorization server. */
export interface RemoteOptions extends Partial<RemoteSettings> {
    authorization?: AuthorizationScript;
    /** The origin that clients know it by, when something stands in front of it. */
    seenAs?: string;
}
/** A running remote on 127.0.0.1. */
export interface Remote {
    origin: string;
    /** The port that it listens on. */
    port: number;
    /** URL of Streamable HTTP. */
    url: string;
    /** URL of the transport of 2024-11-05. */
    sseUrl: string;
    issuer: string;
    /** May be changed at any time. */
    readonly settings: RemoteSettings;
    readonly counters: RemoteCounters;
    /** All requests so far, on any path, in order. */
    readonly received: Received[];
    /** Returns what `/mcp` was asked so far: the JSON-RPC methods of POSTs, `response` for one. */
    methods(): string[];
    /** Returns the same with `GET` and `DELETE`. */
    log(): string[];
    /** The open GET streams of 2025-11-25. */
    readonly streams: ReadonlySet<ServerResponse>;
    /** All secrets issued so far, to look for in files and logs. */
    readonly secrets: ReadonlySet<string>;
    set(changes: Partial<RemoteSettings>): void;
    resetCounters(): void;
    /** Forgets all sessions, so that their ids get `lostSessionStatus`; streams stay open. */
    dropSessions(): void;
    /** Resets the connections of all open streams. */
    dropStreams(): void;
    /** Invalidates all access tokens, but not refresh tokens. */
    revokeAccessTokens(): void;
    /** Invalidates every token. */
    revokeGrants(): void;
    forgetClients(): void;
    addClient(client?: Partial<RemoteClient>): RemoteClient;
    /** Issues tokens as after a sign-in, for a new client if none is named. */
    issueTokens(grant?: {
        clientId?: string;
        scope?: string;
    }): TokenAnswer & {
        client_id: string;
    };
    /** Approves everything that waits with `approval: 'wait'`. */
    approve(): void;
    /** Returns the user codes of devices, in order. */
    userCodes(): string[];
    /** Sends a notification to every client, on its GET stream. */
    broadcast(method: string, params?: JsonObject): void;
    /** Adds a tool and notifies clients. */
    changeTools(): void;
    /** Stops listening and resets every connection. */
    stop(): Promise<void>;
    /** Listens again on the same port. Keeps sessions, tokens and clients. */
    start(): Promise<void>;
    close(): Promise<void>;
}
/** Starts a remote MCP server with its own authorization server. */
export declare function startRemote(options?: RemoteOptions): Promise<Remote>;
