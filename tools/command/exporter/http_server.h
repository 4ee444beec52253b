// SPDX-License-Identifier: MIT
// HttpServer: answers GET, a few at a time, until SIGINT, SIGTERM or SIGHUP. By libevent.
//
// Bounded: kThreads requests at once, the others wait; a client may be silent for thirty seconds; a
// connection an answer. Where there are no more descriptors, new connections wait.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace pktmalloc {

struct HttpRequest {
  std::string path;                          // decoded, without the query
  std::map<std::string, std::string> query;  // decoded; of several with one name the last
};

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string type = "text/plain; charset=utf-8";
};

class HttpServer {
 public:
  // Several threads call it. Whatever it throws is told to the client, with status 500.
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;

  // Blocks those signals in this thread and its later ones, for good. Throws Failure if it cannot
  // listen there. "127.0.0.1:9464", "[::1]:9464", "localhost:0", where
  // 0 is any free port.
  HttpServer(const std::string& address, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // As it may be reached: "127.0.0.1:41253".
  const std::string& address() const { return address_; }
  void serve();

 private:
  static constexpr int kThreads = 4;

  void serve_on_this_thread();

  Handler handler_;
  int socket_ = -1;
  int end_[2] = {-1, -1};  // a pipe: closed, it ends the threads
  std::string address_;
};

}  // namespace pktmalloc
