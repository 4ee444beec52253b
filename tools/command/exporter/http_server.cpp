// SPDX-License-Identifier: MIT
#include "tools/command/exporter/http_server.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

constexpr int kPatienceSeconds = 30;  // more than any answer takes
constexpr ev_ssize_t kMostRequestBytes = 16384;

struct Name {
  std::string host, port;
};

Name parse(const std::string& address) {
  const size_t colon = address.rfind(':');
  Name name;
  if (colon != std::string::npos) {
    name = {address.substr(0, colon), address.substr(colon + 1)};
    if (name.host.size() > 2 && name.host.front() == '[' && name.host.back() == ']') {
      name.host = name.host.substr(1, name.host.size() - 2);
    } else if (name.host.find(':') != std::string::npos) {
      name.host.clear();
    }
  }
  const bool is_port = !name.port.empty() && name.port.size() <= 5 &&
                       name.port.find_first_not_of("0123456789") == std::string::npos &&
                       std::stoi(name.port) <= 65535;
  if (name.host.empty() || !is_port) {
    throw Failure(
        "--listen {} is no address; accepted: HOST:PORT such as 127.0.0.1:9464 or [::1]:0",
        address);
  }
  return name;
}

int listen_at(const addrinfo& place) {
  const int fd = socket(place.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, place.ai_addr, place.ai_addrlen) == 0 && listen(fd, 128) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

std::string address_of(int socket) {
  sockaddr_storage place{};
  socklen_t bytes = sizeof place;
  getsockname(socket, reinterpret_cast<sockaddr*>(&place), &bytes);
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  getnameinfo(reinterpret_cast<sockaddr*>(&place), bytes, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return place.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                                     : fmt::format("{}:{}", host, port);
}

std::string decoded(const char* text) {
  size_t bytes = 0;
  const std::unique_ptr<char, decltype(&free)> plain(evhttp_uridecode(text, 0, &bytes), free);
  return plain == nullptr ? "" : std::string(plain.get(), bytes);
}

HttpRequest request_of(evhttp_request* request) {
  HttpRequest result;
  const evhttp_uri* const uri = evhttp_request_get_evhttp_uri(request);
  if (const char* path = evhttp_uri_get_path(uri)) result.path = decoded(path);
  evkeyvalq query{};
  if (const char* text = evhttp_uri_get_query(uri);
      text != nullptr && evhttp_parse_query_str(text, &query) == 0) {
    for (const evkeyval* pair = query.tqh_first; pair != nullptr; pair = pair->next.tqe_next) {
      result.query[pair->key] = pair->value;
    }
    evhttp_clear_headers(&query);
  }
  return result;
}

void answer(evhttp_request* request, void* argument) {
  HttpAnswer result;
  try {
    result = (*static_cast<HttpServer::Handler*>(argument))(request_of(request));
  } catch (const std::exception& failure) {
    result = {500, std::string(failure.what()) + "\n"};
  }
  evkeyvalq* const headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", result.type.c_str());
  // The next request may meet a thread that is not busy.
  evhttp_add_header(headers, "Connection", "close");
  if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD) {
    // libevent would send the body, too.
    evhttp_add_header(headers, "Content-Length", std::to_string(result.body.size()).c_str());
  } else {
    evbuffer* const body = evhttp_request_get_output_buffer(request);
    evbuffer_add(body, result.body.data(), result.body.size());
  }
  evhttp_send_reply(request, result.status, nullptr, nullptr);
}

// There are no descriptors left: waits a moment, else this would be called at once again.
void rest(evconnlistener* listener, void*) {
  constexpr timeval kMoment{0, 100'000};
  evconnlistener_disable(listener);
  const auto resume = [](evutil_socket_t, short, void* rested) {
    evconnlistener_enable(static_cast<evconnlistener*>(rested));
  };
  event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, resume, listener, &kMoment);
}

sigset_t ends() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

void stop(evutil_socket_t, short, void* base) {
  event_base_loopbreak(static_cast<event_base*>(base));
}

}  // namespace

HttpServer::HttpServer(const std::string& address, Handler handler) : handler_(std::move(handler)) {
  const sigset_t set = ends();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const Name name = parse(address);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* places = nullptr;
  if (const int error = getaddrinfo(name.host.c_str(), name.port.c_str(), &wanted, &places)) {
    throw Failure("cannot listen at {}: {}", address, gai_strerror(error));
  }
  for (const addrinfo* place = places; place != nullptr && socket_ < 0; place = place->ai_next) {
    socket_ = listen_at(*place);
  }
  const int error = errno;
  freeaddrinfo(places);
  if (socket_ < 0) throw Failure("cannot listen at {}: {}", address, strerror(error));
  address_ = address_of(socket_);
}

HttpServer::~HttpServer() {
  for (const int fd : {socket_, end_[0], end_[1]}) {
    if (fd >= 0) close(fd);
  }
}

void HttpServer::serve_on_this_thread() {
  const std::unique_ptr<event_base, decltype(&event_base_free)> base(event_base_new(),
                                                                     event_base_free);
  const std::unique_ptr<evhttp, decltype(&evhttp_free)> http(evhttp_new(base.get()), evhttp_free);
  evhttp_set_allowed_methods(http.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
  evhttp_set_max_headers_size(http.get(), kMostRequestBytes);
  evhttp_set_max_body_size(http.get(), kMostRequestBytes);
  evhttp_set_timeout(http.get(), kPatienceSeconds);
  evhttp_set_gencb(http.get(), answer, &handler_);
  // The listener closes its socket at the end, so each thread has its own. `http` owns it.
  evconnlistener* const listener = evconnlistener_new(base.get(), nullptr, nullptr,
                                                      LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
                                                      0, fcntl(socket_, F_DUPFD_CLOEXEC, 0));
  if (listener == nullptr || evhttp_bind_listener(http.get(), listener) == nullptr) return;
  evconnlistener_set_error_cb(listener, rest);
  const std::unique_ptr<event, decltype(&event_free)> ended(
      event_new(base.get(), end_[0], EV_READ, stop, base.get()), event_free);
  event_add(ended.get(), nullptr);
  event_base_dispatch(base.get());
}

void HttpServer::serve() {
  if (pipe2(end_, O_CLOEXEC) != 0) throw Failure("there is no pipe: {}", strerror(errno));
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([this] { serve_on_this_thread(); });
  const sigset_t set = ends();
  int signal = 0;
  sigwait(&set, &signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // a second one does not wait for a slow answer
  close(end_[1]);
  end_[1] = -1;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace pktmalloc
