import { type RequestListener } from 'node:http';
import { type ServerOptions } from 'node:https';
import { type Socket } from 'node:net';
import { NetworkError, type HttpClient, type HttpRequest, type NetworkConfig } from '../../../../bridge/http/http-client.ts';
/** A server that runs until the test is over. */
export interface TestServer {
    port: number;
    /** Uses 127.0.0.1 as the host. */
    origin: string;
    /** All connections so far. */
    sockets: Socket[];
    close(): Promise<void>;
}
/** Starts a server of node:http. */
export declare function serveHttp(listener: RequestListener): Promise<TestServer>;
/** Starts a server of node:https; its usual certificates name `localhost` and 127.0.0.1. */
export declare function serveTls(identity: {
    key: string;
    cert: string;
} & ServerOptions, listener: RequestListener): Promise<TestServer>;
/** Starts a server that only accepts connections and leaves the rest to the test. */
export declare function serveRaw(onSocket: (socket: Socket) => void, host?: string): Promise<TestServer>;
/** Returns a configuration with short limits and no proxy. */
export declare function networkConfig(changes?: Partial<NetworkConfig>): NetworkConfig;
/** Creates a client that is closed when the test is over. */
export declare function testClient(changes?: Partial<NetworkConfig>): HttpClient;
/** Sends a request, by default POST with a short body, and reads the response. */
export declare function exchange(client: HttpClient, url: string, changes?: Partial<HttpRequest>): Promise<{
    status: number;
    text: string;
    headers: Record<string, unknown>;
}>;
/** Returns the error that `promise` rejects with; fails unless it is a {@link NetworkError}. */
export declare function networkErrorOf(promise: Promise<unknown>): Promise<NetworkError>;
/**
 * Resolves when `count` requests have arrived on a raw socket, and calls `each` for every one. Bodies are `{}` or
 * empty.
 */
export declare function onRequest(socket: Socket, each: (number: number, head: string) => void): void;
