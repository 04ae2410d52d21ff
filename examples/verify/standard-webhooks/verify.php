<?php

const TOLERANCE_SECONDS = 5 * 60;

/**
 * Whether Sluice sent this request, at most five minutes ago. $rawBody: the bytes as received, from
 * file_get_contents('php://input'). $headers: those of getallheaders().
 */
function isGenuine(string $rawBody, array $headers, string $secret): bool
{
    $headers = array_change_key_case($headers);
    $id = $headers['webhook-id'] ?? '';
    $timestamp = $headers['webhook-timestamp'] ?? '';
    if (!preg_match('/^\d+$/D', $timestamp) || abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    $key = str_starts_with($secret, 'whsec_') ? base64_decode(substr($secret, 6)) : $secret;
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$rawBody", $key, true));
    // while the secret is rotated, there are two signatures: of the new secret and of the previous one
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $signature) {
        if (hash_equals($expected, $signature)) {
            return true;
        }
    }
    return false;
}
