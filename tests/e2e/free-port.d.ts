/**
 * A loopback port that nobody listens on, handed out once per process. It lies below the ranges that operating systems
 * give to outgoing connections, so that it is still free when a killed server comes back to it.
 */
export declare function freePort(): Promise<number>
